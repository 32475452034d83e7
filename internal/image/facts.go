package image

import (
	"context"
	"errors"
	"io/fs"
)

// Path is where an image has its MXMACA unless its MACA_PATH says otherwise.
const Path = "/opt/maca"

// Facts are what an image says of MXMACA without being run.
type Facts struct {
	// ID is the image's, as the engine tells it.
	ID string `json:"id"`
	// Platform is what the image is for, "linux/amd64"; empty where that was not
	// asked. Images for different platforms may have one ID.
	Platform string `json:"platform,omitempty"`
	// MACA is the image's own MXMACA; nil if it has none.
	MACA *Install `json:"maca,omitempty"`
	// Empty tells that Path leads to a directory without an MXMACA.
	Empty bool `json:"empty,omitempty"`
	// Unusable says why nothing may be mounted on the image's Path; empty if that
	// may be done.
	Unusable string `json:"unusable,omitempty"`
	// Warnings are for a person who is about to use the image.
	Warnings []string `json:"warnings,omitempty"`

	// Env and Labels are the image's own. They are not kept in a Cache.
	Env    []string          `json:"-"` // NAME=VALUE
	Labels map[string]string `json:"-"`
	// Volumes are the directories that the image wants volumes on; not kept either.
	Volumes []string `json:"-"`
	// Uncached is why the facts could not be kept for the next time; nil if they
	// are, or were not to be.
	Uncached error `json:"-"`
	// left says what of the looking could not be cleared away.
	left []string
}

// Install is an MXMACA in an image.
type Install struct {
	// Path is the one by which it was found: Path, or the image's MACA_PATH.
	Path string `json:"path"`
	// Dir is the directory inside the image that Path leads to.
	Dir string `json:"dir"`
	// Version is empty if the image does not tell.
	Version string `json:"version,omitempty"`
	// VersionFrom is what tells the version: "Version.txt", "label …" or
	// "environment MACA_AI_VERSION".
	VersionFrom string `json:"versionFrom,omitempty"`
}

// Stat is what stands at a path of an image.
type Stat struct {
	Mode fs.FileMode // type and permission bits
	Size int64       // bytes
	// Target is what a link says, or where it leads to from the image's root.
	Target string
}

// Files are those of one image. Both methods fail with fs.ErrNotExist where there
// is nothing, with syscall.ELOOP or syscall.ENOTDIR where links lead in a circle
// or over a file, and with another error if it could not be found out.
type Files interface {
	// Stat describes what stands at an absolute path; a link there is not followed.
	Stat(ctx context.Context, path string) (Stat, error)
	// File returns a regular file of at most max bytes, or else ErrNotRegular or
	// ErrTooLarge.
	File(ctx context.Context, path string, max int64) ([]byte, error)
}

var (
	// ErrNotFound reports an image that the engine does not have.
	ErrNotFound = errors.New("no such image here")
	// ErrUninspectable reports an engine that shows nobody the files of an image
	// without running it, or not at a bearable cost.
	ErrUninspectable = errors.New("the image cannot be looked into")
	// ErrNotRegular reports something else than a file where a file is read.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge reports a file of more bytes than it may have.
	ErrTooLarge = errors.New("file too large")
)
