// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/metax-ctk/container-toolkit/internal/top"
)

// topStyles are the styles of a terminal. tcell leaves colours out if NO_COLOR is set, so
// that no style is told by its colour alone where it matters.
var topStyles = map[top.Style]tcell.Style{
	top.Title:   tcell.StyleDefault.Bold(true),
	top.Heading: tcell.StyleDefault.Reverse(true),
	top.Stale:   tcell.StyleDefault.Dim(true).Foreground(tcell.ColorGray),
	top.Low:     tcell.StyleDefault.Foreground(tcell.ColorGreen),
	top.Middle:  tcell.StyleDefault.Foreground(tcell.ColorOlive),
	top.High:    tcell.StyleDefault.Foreground(tcell.ColorMaroon),
	top.Bad:     tcell.StyleDefault.Foreground(tcell.ColorMaroon).Bold(true),
}

// drawTop shows the view on the terminal until a key or a signal ends it.
func drawTop(ctx context.Context, view *top.Live) error {
	screen, err := tcell.NewScreen()
	if err == nil {
		err = screen.Init()
	}
	if err != nil {
		return fmt.Errorf("draw on this terminal: %w. Without a live view: metax-ctk top --once", err)
	}
	defer screen.Fini()
	events, end := make(chan tcell.Event, 16), make(chan struct{})
	defer close(end)
	go screen.ChannelEvents(events, end)
	again, age := time.NewTicker(view.State.Interval), time.NewTicker(time.Second)
	defer again.Stop()
	defer age.Stop()
	view.Start(ctx)
	for m := (top.Model{}); ; {
		m.State = view.State
		draw(screen, m)
		select {
		case <-ctx.Done():
			return errInterrupted
		case <-again.C:
			view.Start(ctx)
		case <-age.C:
		case a := <-view.Answers():
			view.Take(a)
		case e := <-events:
			key := pressed(e)
			if key == interrupt {
				return errInterrupted
			}
			var quit bool
			if m, quit = m.Press(key, time.Now()); quit {
				return nil
			}
			if _, resized := e.(*tcell.EventResize); resized {
				screen.Sync()
			}
		}
	}
}

// interrupt is Ctrl-C, which is a key while the view is drawn.
const interrupt rune = 3

// pressed is the key of an event, 0 for other events.
func pressed(e tcell.Event) rune {
	k, ok := e.(*tcell.EventKey)
	if !ok {
		return 0
	}
	switch k.Key() {
	case tcell.KeyCtrlC:
		return interrupt
	case tcell.KeyUp:
		return top.Up
	case tcell.KeyDown:
		return top.Down
	case tcell.KeyEscape:
		return top.Esc
	case tcell.KeyRune:
		return k.Rune()
	}
	return 0
}

// draw puts the view on the screen.
func draw(screen tcell.Screen, m top.Model) {
	width, height := screen.Size()
	screen.Clear()
	for y, line := range m.View(time.Now(), width, height) {
		x := 0
		for _, span := range line {
			for rest := span.Text; rest != "" && x < width; {
				var columns int
				rest, columns = screen.Put(x, y, rest, topStyles[span.Style])
				x += max(columns, 1)
			}
		}
	}
	screen.Show()
}
