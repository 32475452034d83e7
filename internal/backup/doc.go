// Package backup carries changes of configuration files out and remembers them: a
// file is replaced as a whole and durably, keeps its mode, owner and label, and
// what it was before is kept, so that the change can be undone.
//
// A Store is a directory with one directory for each file, by the file's escaped
// path. In there a change has two files with its number: NNNNNN.json is what
// happened, NNNNNN.before is the content before, a copy that can be put back with
// cp; there is none where there was no file. All changes of one Apply have the
// same number, which no other Apply has.
//
//	backups/.lock
//	backups/etc%2Fdocker%2Fdaemon.json/000001.json
//	backups/etc%2Fdocker%2Fdaemon.json/000001.before
//
// An entry is written before its file is changed. A writer that was killed in
// between leaves an entry of something that did not happen; whoever reads tells it
// by the content of the file, as he tells that somebody put a copy back by hand.
//
// It knows nothing of what is in the files.
package backup
