// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// Path is where an image has its MXMACA unless its MACA_PATH names another path.
const Path = "/opt/maca"

// Facts are what is known about an image's MXMACA without running it.
type Facts struct {
	// ID is the image's ID in the engine.
	ID string `json:"id"`
	// Platform is the image's platform, "linux/amd64"; empty if it was not queried.
	// Images for different platforms may have the same ID.
	Platform string `json:"platform,omitempty"`
	// MACA is the image's own MXMACA; nil if it has none.
	MACA *Install `json:"maca,omitempty"`
	// Empty reports whether Path leads to a directory without an MXMACA.
	Empty bool `json:"empty,omitempty"`
	// Unusable is the reason why nothing can be mounted on the image's Path; empty if
	// it can.
	Unusable string `json:"unusable,omitempty"`
	// Warnings are messages for users of the image.
	Warnings []string `json:"warnings,omitempty"`

	// Env and Labels are the image's own. The Cache does not store them.
	Env    []string          `json:"-"` // NAME=VALUE
	Labels map[string]string `json:"-"`
	// Volumes are the directories that the image declares as volumes. The Cache does
	// not store them.
	Volumes []string `json:"-"`
	// Uncached is the error of storing the facts in the Cache; nil if they are stored
	// or there is no cache.
	Uncached error `json:"-"`
	// cleanupFailures are errors of OpenImage.Close.
	cleanupFailures []string
}

// MentionsMACA reports whether a variable of the image, or one of the labels, is about
// MXMACA. It decides nothing: variables and labels may be wrong, the files are not.
func (f Facts) MentionsMACA(labels []string) bool {
	return slices.ContainsFunc(f.Env,
		func(v string) bool { return strings.HasPrefix(v, "MACA_") || strings.Contains(v, Path) }) ||
		slices.ContainsFunc(labels, func(name string) bool { return f.Labels[name] != "" })
}

// Install is an MXMACA in an image.
type Install struct {
	// Path is the path by which it was found: the constant Path, or the image's
	// MACA_PATH.
	Path string `json:"path"`
	// Dir is the directory inside the image to which Path leads.
	Dir string `json:"dir"`
	// Version is empty if it is unknown.
	Version string `json:"version,omitempty"`
	// VersionFrom is the source of the version: "Version.txt", "label …" or
	// "environment MACA_AI_VERSION".
	VersionFrom string `json:"versionFrom,omitempty"`
}

// Stat describes a file of an image.
type Stat struct {
	Mode fs.FileMode // type and permission bits
	Size int64       // bytes
	// Target is the target of a link, as written or resolved from the image's root.
	Target string
}

// Files are the files of one image. Both methods fail with fs.ErrNotExist if there is
// no file, with syscall.ELOOP or syscall.ENOTDIR if links form a circle or lead through
// a file, and with another error if the file could not be read.
type Files interface {
	// Stat describes the file at an absolute path; a link there is not followed.
	Stat(ctx context.Context, path string) (Stat, error)
	// File returns the content of a regular file of at most max bytes. It fails with
	// ErrNotRegular or ErrTooLarge.
	File(ctx context.Context, path string, max int64) ([]byte, error)
}

var (
	// ErrNotFound reports an image that the engine does not have.
	ErrNotFound = errors.New("no such image here")
	// ErrUninspectable reports an engine that cannot show the files of an image without
	// running it, or only at a high cost.
	ErrUninspectable = errors.New("the image cannot be inspected")
	// ErrNotRegular reports a file that is not regular.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge reports a file above the size limit.
	ErrTooLarge = errors.New("file too large")
)
