// This file lets kubelet_test.go declare a function of another package without a body.
