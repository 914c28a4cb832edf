"""What alg:framework prices by: releases and the arriving customer. Never a record."""
