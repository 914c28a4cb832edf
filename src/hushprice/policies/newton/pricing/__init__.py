"""What noisy-newton prices by: releases, public numbers and the arriving customer. Never a record."""
