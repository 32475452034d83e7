// SPDX-License-Identifier: Apache-2.0

// Package docker edits dockerd's configuration, daemon.json: it registers the runtime,
// makes it the default one, switches CDI on and names the directories of CDI specs. It
// also removes all that.
//
// dockerd does not start with a key that its version does not know, so the keys of CDI
// depend on the version:
//
//	before 25.0      no key of CDI
//	25.0 to 28.1     features.cdi is made true; cdi-spec-dirs if requested
//	from 28.2 on     CDI is on: features.cdi only where somebody switched it off
//	unknown          both only where the file has them already
//
// The text is edited in place: what is not ours stays byte for byte. This package does
// not see the flags on dockerd's command line, which must not contradict the file.
package docker
