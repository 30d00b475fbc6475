import { createHash } from 'node:crypto';
import type { JSONWebKeySet } from 'jose';
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

  /** Saves the keys in the background. Saves of a file are done in the order of their calls. */
  save(keySet: KeySet, fetchedAtEpochMs: number): void {
    const content: SavedContent = { keySet: keySet.document, fetchedAtEpochMs };
    void this.folder.save(this.file, content); // never throws
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

/** Issuers whose names differ only in signs get files of their own by the digest. */
export function fileOf(issuer: string): LastGoodFile {
  const readable = issuer.replaceAll(/[^A-Za-z0-9.]+/g, '-').slice(0, 80);
  const digest = createHash('sha256').update(issuer).digest('hex').slice(0, 8);
  return { name: `issuer-${readable}-${digest}`, source: issuer };
}

/** @throws Error with the reason why the keys cannot be used */
function readContent(content: unknown): RestoredKeys {
  const { keySet, fetchedAtEpochMs } = Object(content) as Record<string, unknown>;
  if (typeof fetchedAtEpochMs !== 'number') throw new Error('it does not say how old its keys are');
  const ageMs = Date.now() - fetchedAtEpochMs;
  if (ageMs < 0) throw new Error('its keys were fetched in the future: a clock was set back');
  if (ageMs >= MAX_AGE_MS) throw new Error('its keys are older than 24 hours');
  return { keySet: readKeySet(keySet), ageMs };
}

function readKeySet(document: unknown): KeySet {
  try {
    return new KeySet(document);
  } catch {
    throw new Error('its keys are no key set');
  }
}
