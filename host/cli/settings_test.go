package cli

import (
	"slices"
	"testing"

	"example.com/kitsoki/host/settings"
	"example.com/kitsoki/tui/styles"
)

// The settings name the themes without knowing the screen; both have to mean the same ones.
func TestSettingsNameTheThemesThereAre(t *testing.T) {
	if got, want := slices.Sorted(slices.Values(settings.Themes())), slices.Sorted(slices.Values(styles.Themes())); !slices.Equal(got, want) {
		t.Errorf("settings have %q, the screen %q", got, want)
	}
}
