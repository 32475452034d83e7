// Package request is the grammar of --gpus: it turns what a person typed into a
// Request, and a Request into GPUs of a node. It also has the names by which a
// container's configuration asks for devices.
//
// It says what was asked for and nothing else: which GPUs are free, healthy or
// well linked is decided by whoever holds the Selection, and how they get into a
// container is no business of this package.
package request
