import { createHash } from 'node:crypto';
import type { JSONWebKeySet } from 'jose';
import { assertNumber, assertObject } from '../../snapshots/json-form.js';
import type { LastGoodFile, LastGoodFolder } from '../../snapshots/last-good-folder.js';
import { messageOf } from '../../telemetry/error-message.js';
import { KeySet } from './key-set.js';
import { MAX_AGE_MS } from './signing-keys.js';

/** The content of the file, as JSON. */
export interface SavedContent {
  readonly keySet: JSONWebKeySet;
  readonly fetchedAtEpochMs: number;
}

interface RestoredKeys {
  readonly keySet: KeySet;
  readonly ageMs: number;
}

/** The file of an issuer in LAST_GOOD_FOLDER, which holds the keys that were fetched last. */
export class SavedKeys {
  private readonly file: LastGoodFile;

  constructor(
    issuer: string,
    private readonly folder: LastGoodFolder,
  ) {
    this.file = fileOf(issuer);
  }

  /**
   * Saves the keys in the background. The folder writes them after those of former calls, and logs a failure. Nobody
   * tries again: the next fetch brings keys within a minute.
   */
  save(keySet: KeySet, fetchedAtEpochMs: number): void {
    const content: SavedContent = { keySet: keySet.document, fetchedAtEpochMs };
    void this.folder.save(this.file, content);
  }

  /** The keys that an earlier process saved, or undefined. The log says why a file is not used. */
  async load(): Promise<RestoredKeys | undefined> {
    const content = await this.folder.load(this.file);
    if (content === undefined) return undefined;
    try {
      return readContent(content);
    } catch (error) {
      this.folder.ignored(this.file, messageOf(error));
      return undefined;
    }
  }
}

/**
 * The name has a part that people can read and a digest, which tells issuers apart whose names differ only in signs.
 * With another name the files that are there would no longer be found.
 */
export function fileOf(issuer: string): LastGoodFile {
  const readable = issuer.replaceAll(/[^A-Za-z0-9.]+/g, '-').slice(0, 80);
  const digest = createHash('sha256').update(issuer).digest('hex').slice(0, 8);
  return { name: `issuer-${readable}-${digest}`, source: issuer };
}

/** @throws Error with the reason why the keys cannot be used */
function readContent(content: unknown): RestoredKeys {
  const { keySet, fetchedAtEpochMs } = assertObject(content, 'content');
  const ageMs = Date.now() - assertNumber(fetchedAtEpochMs, 'fetchedAtEpochMs');
  if (ageMs < 0) throw new Error('its keys were fetched in the future: a clock was set back');
  if (ageMs >= MAX_AGE_MS) throw new Error('its keys are older than 24 hours');
  return { keySet: readKeySet(keySet), ageMs };
}

/** jose's message would name a part of the document, not the file. */
function readKeySet(document: unknown): KeySet {
  try {
    return new KeySet(document);
  } catch {
    throw new Error('its keys are no key set');
  }
}
