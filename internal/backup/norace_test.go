//go:build !race

package backup_test

// stride is how many system calls the tests of faults go on at a time.
const stride = 1
