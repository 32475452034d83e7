// SPDX-License-Identifier: Apache-2.0

// Package archive is the file by which a cluster without internet gets images and charts: the
// program metax-k8s-images with a zip archive behind it. The zip is an OCI layout, whose
// entries are named NAME:TAG by the annotation org.opencontainers.image.ref.name; a chart is
// an artifact as helm pushes it. So the file can be run, and also unpacked with unzip and read
// by tools that know OCI layouts.
//
// Write makes such a file, and Open reads it. What an engine has saved (docker save) can be
// added, such as the vendor's images with drivers and MXMACA. Same input, same bytes.
package archive
