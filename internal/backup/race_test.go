//go:build race

package backup_test

// stride is how many system calls the tests of faults go on at a time: the race
// detector makes each writer slow, and sees nothing in it.
const stride = 7
