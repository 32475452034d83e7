// Package demo tests ./run, the demonstration that "make demo" starts.
package demo
