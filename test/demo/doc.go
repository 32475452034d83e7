// Package demo tests ./run, the demo that "make demo" starts.
package demo
