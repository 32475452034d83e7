// SPDX-License-Identifier: Apache-2.0

// Package podman sets Podman up by a file of the toolkit in containers.conf.d and one
// in a directory of hooks. Podman reads containers.conf of the vendor, of the
// administrator, and then the files *.conf of containers.conf.d, sorted by name. A
// later setting replaces an earlier one; a later runtime replaces one of the same name.
//
// CDI is always on. Podman also reads settings of users, after all these; this package
// does not see them.
package podman
