// SPDX-License-Identifier: Apache-2.0

package mxsml

import (
	"errors"
	"fmt"
)

var (
	// ErrUnusable reports a file that is not libmxsml.
	ErrUnusable = errors.New("not a libmxsml library")
	// ErrCrashed reports a library that ended the process that asked it.
	ErrCrashed = errors.New("it crashed")
	// ErrFormat reports an answer that is malformed or contradictory.
	ErrFormat = errors.New("its answer is not understood")
)

// CodeError reports a function of the library that failed.
type CodeError struct {
	Function string // "mxSmlInit"
	Code     uint32
	// Text is the library's text for a code that is not in codes.
	Text string
}

func (e *CodeError) Error() string {
	switch {
	case e.Code < uint32(len(codes)):
		return fmt.Sprintf("%s failed: %s (%d)", e.Function, codes[e.Code], e.Code)
	case e.Text != "":
		return fmt.Sprintf("%s failed: %q (%d)", e.Function, e.Text, e.Code)
	}
	return fmt.Sprintf("%s failed with code %d", e.Function, e.Code)
}

// Named reports whether the code is in codes.
func (e *CodeError) Named() bool { return e.Code < uint32(len(codes)) }

// IsFile reports whether the library could not read a file of the driver, or understand it.
func (e *CodeError) IsFile() bool { return e.Code == 3 || e.Code == 4 }

// NotSupported reports whether the device or the driver lacks the feature.
func (e *CodeError) NotSupported() bool { return e.Code == 3 }

// codes are the names of the codes, without the prefix MXSML_.
var codes = [...]string{
	"Success", "Failure", "NoDevice", "OperationNotSupport", "SysfsError", "SysfsWriteError", "InvalidDeviceId",
	"InvalidDieId", "PermissionDenied", "InvalidInput", "InsufficientSize", "Reserved3", "IOControlFailure",
	"MmapFailure", "UnMmapFailure", "InvalidInputForMmap", "Reserved1", "Reserved2", "TargetVfNotFound",
	"InvalidFrequency", "FlrNotReady", "OpenDeviceFileFailure", "CloseDeviceFileFailure", "BusyDevice",
	"MmioNotEnough", "GetPciBridgeFailure", "LoadDllFailure",
}

// Failure is an error as metax-mxsml prints it.
type Failure struct {
	// Unusable stands for ErrUnusable.
	Unusable bool `json:"unusable,omitempty"`
	// Function and Code stand for a CodeError, if Function is not empty.
	Function string `json:"function,omitempty"`
	Code     uint32 `json:"code,omitempty"`
	// Text is a CodeError's text, or the whole of another error's.
	Text string `json:"text,omitempty"`
}

// NewFailure returns the printed form of an error.
func NewFailure(err error) *Failure {
	var code *CodeError
	if errors.As(err, &code) {
		return &Failure{Function: code.Function, Code: code.Code, Text: code.Text}
	}
	return &Failure{Unusable: errors.Is(err, ErrUnusable), Text: err.Error()}
}

// asError returns the error of a printed failure.
func (f Failure) asError() error {
	switch {
	case f.Unusable:
		return ErrUnusable
	case f.Function != "":
		return &CodeError{Function: f.Function, Code: f.Code, Text: f.Text}
	}
	return errors.New(f.Text)
}
