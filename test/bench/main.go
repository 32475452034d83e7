package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "measure":
		results, err := measure()
		if err == nil {
			err = results.save()
		}
		if err != nil {
			return err
		}
	case len(args) == 1 && args[0] == "pages":
	default:
		return errors.New("want: measure, or: pages")
	}
	results, err := loadResults()
	if err != nil {
		return err
	}
	for _, p := range pages {
		text, err := p.render(results)
		if err != nil {
			return err
		}
		if err := os.WriteFile(p.path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
