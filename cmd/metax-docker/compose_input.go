package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
)

// fromInput tells whether the project comes by standard input.
func fromInput(cmd dockerargs.Compose) bool {
	return slices.ContainsFunc(cmd.Project, func(f dockerargs.Flag) bool { return f.Name == "file" && f.Value == "-" })
}

// rewind goes back to the beginning of standard input. One that cannot go back
// is read to its end and replaced by a file of no name, because docker reads it
// once more.
func rewind() error {
	_, err := os.Stdin.Seek(0, io.SeekStart)
	if !errors.Is(err, unix.ESPIPE) {
		return err
	}
	file, err := os.CreateTemp("", "metax-docker-")
	if err != nil {
		return fmt.Errorf("keep standard input: %w", err)
	}
	defer file.Close()
	if err := os.Remove(file.Name()); err != nil {
		return fmt.Errorf("keep standard input: %w", err)
	}
	if _, err := io.Copy(file, os.Stdin); err != nil {
		return fmt.Errorf("keep standard input: %w", err)
	}
	if err := unix.Dup3(int(file.Fd()), int(os.Stdin.Fd()), 0); err != nil {
		return fmt.Errorf("keep standard input: %w", err)
	}
	_, err = os.Stdin.Seek(0, io.SeekStart)
	return err
}
