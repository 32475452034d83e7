// SPDX-License-Identifier: Apache-2.0

// Package top is the view of GPUs at work: what each GPU measures, who uses it and who
// waits, as a document (Top) and as a screen (Model).
//
// Both are values. A State collects what looks and readings bring, whenever they come and
// whether they worked, and a Live asks for them beside the view; Model changes with keys and
// becomes lines of styled text. Drawing is the caller's. A value that is missing is missing:
// it is never 0.
package top
