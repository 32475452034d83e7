// SPDX-License-Identifier: Apache-2.0

// Package mxmaca puts the MXMACA of payload images on a host, version beside version.
//
// A payload image is a stranger's. A container of it runs this project's program alone, which
// copies the installation into a directory of ours (Copier); nothing of the image is run. The
// agent (Agent), which sees /opt of the host, checks the copy and renames it to
// /opt/maca-VERSION. What is there is whole, so a kill at any point leaves nothing that
// counts. A link /opt/maca leads to the version that new containers get.
//
// A version is never written again: containers that run keep theirs, until the policy removes
// versions that nobody uses (Expired).
package mxmaca
