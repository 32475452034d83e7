// SPDX-License-Identifier: Apache-2.0

// Command images builds the container images of the cluster side as OCI layouts, without
// docker: one layout per image, with an index for amd64 and arm64, and a list of what is in it
// (SBOM) for each architecture. The same sources give the same bytes. It also makes the
// archives with which a cluster without internet gets the images and the charts (package
// archive).
//
// An image is a table row: programs, and for gpu-health Debian packages below them. Packages
// are pinned in debian.lock; the script debs fetches them, this program only checks and
// unpacks them. The script build runs both.
package main
