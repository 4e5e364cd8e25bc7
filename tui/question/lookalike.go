package question

import (
	"strings"
	"unicode"
)

// likeWords are the words that a text looks like, in small letters: marks and accents, other alphabets' letters of the
// same shape, digits that stand for letters, and what is shown as a token do not make another word of one.
func likeWords(text string) []string {
	text = untoken(text)
	lookalikes := lookalikes()
	return strings.FieldsFunc(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.M, r) {
			return -1
		}
		r = unicode.ToLower(latin(r))
		if like, ok := lookalikes[r]; ok {
			return like
		}
		return r
	}, text), func(r rune) bool { return r < 'a' || r > 'z' })
}

// untoken leaves out the tokens of a safe text: they stand for what cannot be seen.
func untoken(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "‹")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, text, _ = strings.Cut(rest, "›")
	}
}

// latin is the letter that a letter of full width, or of mathematics, is another form of.
func latin(r rune) rune {
	switch {
	case r >= 0xFF21 && r <= 0xFF3A:
		return 'a' + r - 0xFF21
	case r >= 0xFF41 && r <= 0xFF5A:
		return 'a' + r - 0xFF41
	case r >= 0x1D400 && r <= 0x1D6A3: // 13 alphabets of 26 capital and 26 small letters each
		return 'a' + (r-0x1D400)%26
	case r >= 0x24B6 && r <= 0x24E9: // in circles
		return 'a' + (r-0x24B6)%26
	}
	return r
}

// lookalikes are small letters, and digits, that look like one of a to z.
func lookalikes() map[rune]rune {
	out := map[rune]rune{}
	for like, all := range map[rune]string{
		'a': "аαɑàáâãäåāăąǎạ@4", 'b': "ьʙβ", 'c': "сϲçćčĉċ", 'd': "ԁɗďđḍ", 'e': "еєεҽèéêëēĕėęěẹ3", 'f': "ƒ", 'g': "ɡġğĝģ",
		'h': "һհнĥħ", 'i': "іιıɩìíîïĩīĭįỉị1", 'j': "јϳ", 'k': "кκķ", 'l': "ⅼӏļľłĺ", 'm': "мⅿṃ", 'n': "ոпñńňņŋη", 'o': "оοօσòóôõöøōŏőọ0",
		'p': "рρṗ", 'q': "ԛ", 'r': "гŕřŗɾ", 's': "ѕśšşșṣ5", 't': "тτţťțṭ7", 'u': "υսùúûüũūŭůűųụ", 'v': "ѵν", 'w': "ԝωŵ", 'x': "хχ",
		'y': "уүγýÿŷ", 'z': "ʐźžż",
	} {
		for _, r := range all {
			out[r] = like
		}
	}
	return out
}
