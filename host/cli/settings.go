package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"example.com/kitsoki/host/settings"
	"example.com/kitsoki/tui"
	"example.com/kitsoki/tui/keys"
	"example.com/kitsoki/tui/signals"
)

// settle reads the settings and lets them stand where no flag was given.
func (f *runFlags) settle(cmd *cobra.Command) error {
	s, err := settings.Load(os.Getenv)
	if err != nil {
		return err
	}
	given := func(flag string) bool { return cmd.Flags().Lookup(flag) == nil || cmd.Flags().Changed(flag) }
	for flag, set := range map[string]func(){
		"agent":    func() { f.agent = s.Agent },
		"model":    func() { f.model = s.Model },
		"access":   func() { f.access = s.Access },
		"ask-wait": func() { f.wait = s.AskWait },
		"theme":    func() { f.theme = s.Theme },
		"log":      func() { f.log = s.Log },

		"on-hangup": func() { f.onHangup = s.OnHangup },
	} {
		if !given(flag) {
			set()
		}
	}
	f.others = s.Elsewhere != "off"
	f.screen, err = screenOptions(s)
	f.screen.OpenElsewhere = s.Elsewhere == "open"
	return err
}

// screenOptions are the settings of the screen alone.
func screenOptions(s settings.Settings) (opt tui.Options, err error) {
	if opt.Keys, err = keys.Default().With(s.Keys); err != nil {
		var change *keys.ChangeError
		if errors.As(err, &change) {
			return opt, at(s, "keys."+change.Name, err)
		}
		return opt, err
	}
	osc, err := signals.ParseOSC(s.Notify.OSC)
	if err != nil {
		return opt, at(s, "notify.osc", err)
	}
	opt.Copy = s.Copy.OSC52
	opt.Signals = tui.Signals{
		AlarmSettings: signals.AlarmSettings{Bell: s.Notify.Bell, OSC: osc, OnAsk: len(s.Notify.OnAsk) > 0, After: s.Notify.After},
		Title:         s.Notify.Title, Tmux: signals.InTmux(os.Getenv),
		Run: func(ctx context.Context, n signals.AskNotice) error {
			return signals.OnAsk{Argv: s.Notify.OnAsk}.Run(ctx, n)
		},
	}
	return opt, nil
}

// at puts where a setting was made before what is wrong with it.
func at(s settings.Settings, key string, err error) error {
	if where := s.Where(key); where != "" {
		return fmt.Errorf("%s: %w", where, err)
	}
	return err
}
