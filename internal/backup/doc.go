// SPDX-License-Identifier: Apache-2.0

// Package backup changes configuration files and can undo the changes. It replaces files
// atomically and keeps mode, owner and SELinux label. It stores the original until the
// toolkit's last setting is removed from the file.
//
// A Store is a directory with one directory per file, named by the file's escaped path.
// There, "original" is the content before, which cp can restore, and "record.json"
// describes it. If the file did not exist there is no copy, and the record says so.
//
//	backups/etc%2Fdocker%2Fdaemon.json/original
//	backups/etc%2Fdocker%2Fdaemon.json/record.json
//
// The record is written before the file is changed, and has the digests of the file
// before and after the change. A file with another digest was changed by another program
// or person.
//
// Older versions kept every change, as NNNNNN.json and NNNNNN.before. The lowest of
// those is the original.
//
// The package does not interpret the files.
package backup
