package trace

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// maxBytes bounds the text of a trace: 256 for each job that it may have.
const maxBytes = 256 * MaxJobs

// columnNames are the columns of a trace; all but the name must be there.
var columnNames = []string{"arrival", "gpus", "duration", "name"}

// FormatError reports where a text is not a valid trace.
type FormatError struct {
	Line   int    // from 1
	Column string // the column's name; empty if the line as a whole is wrong
	Reason string
}

func (e *FormatError) Error() string {
	if e.Column == "" {
		return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
	}
	return fmt.Sprintf("line %d, column %s: %s", e.Line, e.Column, e.Reason)
}

// ReadCSV reads a trace: a line that names the columns arrival, gpus, duration and,
// if wanted, name, in any order, then a line for each job. Times are as ParseTime
// reads them. Jobs are returned in the order of arrival. An error is a
// *FormatError, or the reader's own.
func ReadCSV(r io.Reader) ([]Job, error) {
	in := csv.NewReader(&bounded{r: r, left: maxBytes})
	in.ReuseRecord = true
	head, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, &FormatError{Line: 1, Reason: "no header; want " + strings.Join(columnNames[:3], ",")}
	}
	if err != nil {
		return nil, formatError(err)
	}
	at, err := columnsOf(head)
	if err != nil {
		return nil, err
	}
	jobs := []Job{}
	for {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			sortTrace(jobs)
			return jobs, nil
		}
		if err != nil {
			return nil, formatError(err)
		}
		line, _ := in.FieldPos(0)
		if len(jobs) == MaxJobs {
			return nil, &FormatError{Line: line, Reason: fmt.Sprintf("more than %d jobs", MaxJobs)}
		}
		job, column, err := parseJob(fields, at)
		if err != nil {
			line, _ = in.FieldPos(at[column])
			return nil, &FormatError{Line: line, Column: columnNames[column], Reason: err.Error()}
		}
		jobs = append(jobs, job)
	}
}

// columnsOf returns the position of each of columnNames; -1 if it is missing.
func columnsOf(head []string) (at [4]int, err error) {
	at = [4]int{-1, -1, -1, -1}
	for i, word := range head {
		if i == 0 {
			word = strings.TrimPrefix(word, "\ufeff") // as spreadsheets begin a file
		}
		column := slices.Index(columnNames, strings.TrimSpace(word))
		switch {
		case column < 0:
			return at, &FormatError{Line: 1, Reason: fmt.Sprintf("column %q is not known; want %s", word, strings.Join(columnNames, ", "))}
		case at[column] >= 0:
			return at, &FormatError{Line: 1, Column: columnNames[column], Reason: "named twice"}
		}
		at[column] = i
	}
	for column, name := range columnNames[:3] {
		if at[column] < 0 {
			return at, &FormatError{Line: 1, Column: name, Reason: "missing"}
		}
	}
	return at, nil
}

// parseJob parses a line; column is the position of an error.
func parseJob(fields []string, at [4]int) (j Job, column int, err error) {
	field := func(column int) string { return strings.TrimSpace(fields[at[column]]) }
	if j.Arrival, err = ParseTime(field(0)); err != nil {
		return j, 0, err
	}
	if j.GPUs, err = strconv.Atoi(field(1)); err != nil || j.GPUs < 1 || j.GPUs > maxGPUs {
		return j, 1, fmt.Errorf("%q: want a number of GPUs, at least 1", field(1))
	}
	j.Duration, err = ParseTime(field(2))
	if err == nil && j.Duration > maxDuration {
		err = fmt.Errorf("%q: at most %v seconds", field(2), maxDuration)
	}
	if err != nil {
		return j, 2, err
	}
	if at[3] >= 0 {
		j.Name = field(3)
	}
	return j, 0, nil
}

// formatError names the line of what encoding/csv complains about.
func formatError(err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	return &FormatError{Line: parse.Line, Reason: parse.Err.Error()}
}

// bounded fails where a text is longer than a trace can be.
type bounded struct {
	r    io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("a trace of more than %d bytes", maxBytes)
	}
	return n, err
}

// WriteCSV writes a trace as ReadCSV reads it, times in seconds. There is a column
// for names if any job has one.
func WriteCSV(w io.Writer, jobs []Job) error {
	named := slices.ContainsFunc(jobs, func(j Job) bool { return j.Name != "" })
	width := 3
	if named {
		width = 4
	}
	out := csv.NewWriter(w)
	rows := func(yield func([]string) bool) {
		if !yield(columnNames[:width]) {
			return
		}
		for _, j := range jobs {
			if !yield([]string{j.Arrival.String(), strconv.Itoa(j.GPUs), j.Duration.String(), j.Name}[:width]) {
				return
			}
		}
	}
	for row := range rows {
		if err := out.Write(row); err != nil {
			return fmt.Errorf("write trace: %w", err)
		}
	}
	if out.Flush(); out.Error() != nil {
		return fmt.Errorf("write trace: %w", out.Error())
	}
	return nil
}
