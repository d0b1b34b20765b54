package backup

import (
	"context"
	"strconv"

	"lockstep/cluster/meta"
)

// LastSetting is a name among the meta group's settings that is no directive. Its value is when the
// newest backup began that was read back, in Unix milliseconds.
const LastSetting = "last-backup-ms"

// BackupDone implements admin.Backups.
func (b *Backups) BackupDone(ctx context.Context, beganMs int64) error {
	if beganMs <= LastMs(b.Member.Machine.View()) {
		return nil
	}
	_, err := b.Member.Meta.Do(ctx, &meta.SetSettings{Set: map[string]string{LastSetting: strconv.FormatInt(beganMs, 10)}})
	return err
}

// LastMs is the value of LastSetting, or 0 if no backup has been made.
func LastMs(v *meta.View) int64 {
	ms, _ := strconv.ParseInt(v.Settings[LastSetting], 10, 64)
	return ms
}
