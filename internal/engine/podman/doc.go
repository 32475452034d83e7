// Package podman sets Podman up: by a file of the toolkit's own in containers.conf.d,
// and one in a directory of hooks. Podman reads containers.conf of the vendor, of
// the administrator, and then the files *.conf of containers.conf.d by the order of
// their names; a later setting replaces an earlier one, and a runtime that of the
// same name.
//
// CDI is always on. Of the settings of users, which are read later still, nothing
// is known here.
package podman
