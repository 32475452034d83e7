// Package engines is the container engines of a host: which are there and of what
// version, which files configure them, what has to be changed in those, how an
// engine comes to read them, and whether it then does what it should.
//
// What a file says and how it is edited is the business of internal/engine;
// writing is that of internal/backup.
package engines
