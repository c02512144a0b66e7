// Folders of checks.

import { rmSync } from "node:fs";

// Removes a folder with all that is in it, also while processes that are ending still write there: rmSync repeats only some of its steps.
export function removeFolder(folder) {
  for (let attempt = 0; ; attempt++) {
    try {
      return rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if (attempt === 50 || !["ENOTEMPTY", "EBUSY", "EPERM"].includes(error.code)) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    }
  }
}
