// Package backup carries changes of configuration files out and can undo them: a
// file is replaced as a whole and durably, keeps its mode, owner and label, and what
// it was before the toolkit first changed it is kept until nothing of the toolkit's is
// in it any more.
//
// A Store is a directory with one directory for each file, by the file's escaped path.
// In there, "original" is the content before, a copy that can be put back with cp, and
// "record.json" says what has become of it. Where there was no file there is no copy,
// and the record says so.
//
//	backups/etc%2Fdocker%2Fdaemon.json/original
//	backups/etc%2Fdocker%2Fdaemon.json/record.json
//
// The record is written before the file is changed, and has the digests of the file
// before the change and after it. A file that has another digest has been changed by
// somebody else.
//
// Older versions kept every change, as NNNNNN.json and NNNNNN.before. The lowest of
// those is the original.
//
// It knows nothing of what is in the files.
package backup
