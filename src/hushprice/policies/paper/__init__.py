"""Policy paper: alg:framework with PrivateCov and PrivateMLE, in three calibrations."""
