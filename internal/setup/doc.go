// Package setup finds this host's engines, sets them up, undoes that, and proves that
// it works: which engines are there and of what version, which files configure them,
// what has to be changed in those, how an engine comes to read them, and whether it
// then does what it should.
//
// What a file says and how it is edited is the business of internal/engine;
// writing is that of internal/backup.
package setup
