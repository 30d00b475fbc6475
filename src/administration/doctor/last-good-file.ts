import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe } from '../../telemetry/repeated-failure.js';
import { type Finding, ok, warning } from './finding.js';

const SUBJECT = 'last good';

/** Checks whether the service can replace LAST_GOOD_FILE. */
export async function examineLastGoodFile(path: string): Promise<Finding | undefined> {
  if (path === '') return undefined;
  try {
    await access(dirname(path), constants.W_OK | constants.X_OK);
  } catch (error) {
    return warning(
      SUBJECT,
      `LAST_GOOD_FILE cannot be written: ${describe(error)}`,
      'Name a file in a folder that the service may write to; docs/operators.md says how.',
    );
  }
  const written = await stat(path).catch(() => undefined);
  if (written?.isDirectory())
    return warning(SUBJECT, `LAST_GOOD_FILE is "${path}", a folder`, 'Name a file in it.');
  return ok(
    SUBJECT,
    written
      ? `${path} was written ${Math.round((Date.now() - written.mtimeMs) / 1000)} s ago`
      : `${path} is not there yet: the service writes it`,
  );
}
