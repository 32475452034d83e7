// Package docker edits dockerd's configuration, daemon.json: it registers the
// runtime, makes it the default one, switches CDI on and names the directories of
// CDI specs, and takes all that out again.
//
// What dockerd of an age does not know keeps it from starting, so that the keys of
// CDI are written by version:
//
//	before 25.0      no key of CDI
//	25.0 to 28.1     features.cdi is made true; cdi-spec-dirs if asked for
//	from 28.2 on     CDI is on: features.cdi only where somebody switched it off
//	not known        both only where they are there already
//
// The text is edited in place: what is not ours stays byte for byte. Flags on
// dockerd's command line, which must not contradict the file, are not seen here.
package docker
