package script

import "testing"

// Texts have as many forms as answers give reasons for, and one where there are none.
func TestATextHasTheFormsOfItsAnswers(t *testing.T) {
	for source, want := range map[string][3]int{
		`return {a = 1, [2] = 3}`:                                        {0, 0, 0},
		`return {[KEYS[1]] = 1}`:                                         {0, 0, 2},
		`if false then end local a, b = 1, 2 a, b = b, a return a`:       {0, 1, 1},
		`local a, b = 1, 2 a, b = b, a return {[a] = b, ['x' .. b] = 1}`: {0, 1, 2},
	} {
		f, err := compileForms(source, scriptChunk)
		if err != nil {
			t.Fatal(err)
		}
		var got [3]int
		all := []*form{&f.first, &f.right, &f.paid}
		for i, one := range all {
			for j := i; j >= 0; j-- {
				if all[j].proto == one.proto {
					got[i] = j
				}
			}
		}
		if got != want {
			t.Errorf("%s: forms %v, want %v", source, got, want)
		}
		for answers, one := range map[Answers]*form{AnswersFirst: &f.first, AnswersLua: &f.first, AnswersDepth: &f.right, AnswersPaid: &f.paid} {
			if f.of(answers) != one {
				t.Errorf("%s: answers %d have another form", source, answers)
			}
		}
	}
}
