package metrics

import (
	"bytes"
	"math"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// parse reads a page with Prometheus's own parser.
func parse(t *testing.T, page []byte) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		t.Fatalf("Prometheus cannot read the page: %v\n%s", err, page)
	}
	return families
}

func TestPrometheusReadsWhatIsWritten(t *testing.T) {
	var p Page
	p.Begin(&Desc{"empty_total", Counter, "Never seen.", nil})
	p.Begin(&Desc{"a_total", Counter, "With a \\ and\na line.", []string{"who", "what"}})
	hostile := "\"quotes\", \\ and\nlines"
	p.Add(7, hostile, "\xff")
	p.Add(1<<62, "x", "")
	p.Begin(&Desc{"b", Gauge, "A gauge.", nil})
	p.Add(math.Inf(1))
	families := parse(t, p.Bytes())
	if len(families) != 2 || families["empty_total"] != nil {
		t.Errorf("there are %d families:\n%s", len(families), p.Bytes())
	}
	a := families["a_total"]
	if a.GetHelp() != "With a \\ and\na line." || a.GetType() != dto.MetricType_COUNTER || len(a.Metric) != 2 {
		t.Fatalf("a_total is read as %v", a)
	}
	if m := a.Metric[0]; m.Label[0].GetValue() != hostile || m.Label[1].GetValue() != "\uFFFD" || m.Counter.GetValue() != 7 {
		t.Errorf("the first series is read as %v", m)
	}
	if got := a.Metric[1].Counter.GetValue(); got != 1<<62 {
		t.Errorf("the second series is %v", got)
	}
	if got := families["b"].Metric[0].Gauge.GetValue(); !math.IsInf(got, 1) {
		t.Errorf("b is %v", got)
	}
}

func TestHistogramCountsUpToItsBounds(t *testing.T) {
	var h Histogram
	for _, took := range []time.Duration{0, time.Millisecond, time.Second, time.Second + 1, time.Hour} {
		h.Observe(took)
	}
	var p Page
	p.Begin(&Desc{"took_seconds", Distribution, "Time.", []string{"what"}})
	p.AddHistogram(h.Look(), "sync")
	got := parse(t, p.Bytes())["took_seconds"].Metric[0].Histogram
	if got.GetSampleCount() != 5 || math.Abs(got.GetSampleSum()-3602.001) > 1e-3 {
		t.Errorf("count %d, sum %v", got.GetSampleCount(), got.GetSampleSum())
	}
	before := uint64(0)
	for _, b := range got.Bucket {
		want := uint64(0)
		for _, took := range []time.Duration{0, time.Millisecond, time.Second, time.Second + 1, time.Hour} {
			if took.Seconds() <= b.GetUpperBound() {
				want++
			}
		}
		if b.GetCumulativeCount() != want || want < before {
			t.Errorf("up to %v there are %d, want %d", b.GetUpperBound(), b.GetCumulativeCount(), want)
		}
		before = want
	}
}

func TestQuantilesOfWhatCameSince(t *testing.T) {
	var h Histogram
	for range 50 {
		h.Observe(10 * time.Second)
	}
	before := h.Look()
	for range 98 {
		h.Observe(3 * time.Millisecond)
	}
	h.Observe(100 * time.Millisecond)
	h.Observe(time.Hour)
	after := h.Look()
	since := after.Since(&before)
	if since.Count != 100 {
		t.Fatalf("%d came", since.Count)
	}
	// Each quantile lies in its bucket; one hour is reported as the last bound.
	for q, within := range map[float64][2]float64{0.01: {1.0 / 512, 1.0 / 256}, 0.5: {1.0 / 512, 1.0 / 256}, 0.98: {1.0 / 512, 1.0 / 256}, 0.99: {1.0 / 16, 1.0 / 8}, 1: {16, 16}} {
		if got := since.Quantile(q); got < within[0] || got > within[1] {
			t.Errorf("%v: %v", q, got)
		}
	}
	if none := after.Since(&after); none.Quantile(0.5) != 0 {
		t.Errorf("of nothing: %v", none.Quantile(0.5))
	}
}
