import { randomUUID } from 'node:crypto';
import { mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import { messageOf } from '../telemetry/error-message.js';
import { Metrics } from '../telemetry/metrics.js';
import { RepeatedFailure } from '../telemetry/repeated-failure.js';
import { ServiceLogger } from '../telemetry/service-logger.js';

/** Raise it when the meaning of a content changes: files of another version are ignored. */
const VERSION = 1;
/** A file that is larger was not written by us: 100,000 codes take 20 MB. */
const MAX_BYTES = 256 * 1024 ** 2;
/** Signing keys and hashes of API keys concern nobody else. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
/** `codes.json.` and a UUID: what `replaceFile` writes before it takes the name of the file. */
const TEMPORARY_NAME = /\.json\.[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
/** A temporary file lives for seconds, unless its process was killed. Clocks of a shared folder may differ. */
const ABANDONED_AFTER_MS = 3_600_000;
/** How long the end of the service waits for saves. */
const LAST_SAVES_LIMIT_MS = 2_000;

export interface LastGoodFile {
  /** Of the file, without its ending: letters, digits, dots and dashes. */
  readonly name: string;
  /** What the content belongs to: a database or an issuer. The content of another one is never used. */
  readonly source: string;
}

/** What a file holds, as JSON. */
interface Document {
  readonly version: number;
  readonly source: string;
  readonly content: unknown;
}

/**
 * The folder LAST_GOOD_FOLDER, in which parts of the service keep what they last read, so that a replica can start
 * while the database or an issuer is away.
 *
 * A file is replaced as a whole. So each reader finds the former or the new content, also while several replicas
 * write to the same folder. Whoever loads a content checks its form, and decides whether it may be served.
 */
@Injectable()
export class LastGoodFolder implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly failures = new Map<string, RepeatedFailure>();
  /** The last save of each file, by its path. */
  private readonly lastSaves = new Map<string, Promise<boolean>>();

  constructor(
    private readonly configuration: Configuration,
    private readonly metrics: Metrics,
    private readonly logger: ServiceLogger,
  ) {}

  /** Whether LAST_GOOD_FOLDER is set. If not, nothing is saved and nothing is found. */
  get isOn(): boolean {
    return this.configuration.LAST_GOOD_FOLDER !== '';
  }

  /** The start does not wait for it: the folder may be on a server that does not answer. */
  onApplicationBootstrap(): void {
    void this.removeAbandonedFiles();
  }

  /** What has begun is written to its end, unless the folder does not answer. */
  async onApplicationShutdown(): Promise<void> {
    const saves = Promise.all(this.lastSaves.values());
    await Promise.race([saves, pause(LAST_SAVES_LIMIT_MS, undefined, { ref: false })]);
  }

  /** Removes the temporary files of processes that were killed while they wrote. Never throws. */
  async removeAbandonedFiles(): Promise<void> {
    if (!this.isOn) return;
    const folder = this.configuration.LAST_GOOD_FOLDER;
    try {
      const names = await readdir(folder);
      for (const name of names) {
        if (TEMPORARY_NAME.test(name)) await removeIfAbandoned(join(folder, name));
      }
    } catch {
      // There is no folder yet, or it cannot be used, which the first save says
    }
  }

  /**
   * Replaces the file, after the saves of it that were called before. Never throws: a failure is logged, and the former
   * file stays.
   * @returns whether it was replaced
   */
  save(file: LastGoodFile, content: unknown): Promise<boolean> {
    if (!this.isOn) return Promise.resolve(false);
    const path = this.pathOf(file);
    const document: Document = { version: VERSION, source: file.source, content };
    const formerSave = this.lastSaves.get(path);
    const save = this.writeAfter(formerSave, path, document);
    this.lastSaves.set(path, save);
    return save;
  }

  private async writeAfter(
    formerSave: Promise<boolean> | undefined,
    path: string,
    document: Document,
  ): Promise<boolean> {
    await formerSave;
    try {
      await mkdir(this.configuration.LAST_GOOD_FOLDER, { recursive: true, mode: FOLDER_MODE });
      await replaceFile(path, JSON.stringify(document));
      this.metrics.lastGoodWrites.inc({ result: 'written' });
      this.failureOf(path).succeeded();
      return true;
    } catch (error) {
      this.writeFailed(path, error);
      return false;
    }
  }

  /** Logs and counts why a file was not replaced. Also called by whoever cannot make the content. */
  saveFailed(file: LastGoodFile, error: unknown): void {
    this.writeFailed(this.pathOf(file), error);
  }

  private writeFailed(path: string, error: unknown): void {
    this.metrics.lastGoodWrites.inc({ result: 'failed' });
    this.failureOf(path).failed(error, { name: 'none' });
  }

  /**
   * The content that was saved last, by this process or another one.
   * @throws Error with the reason why there is none that may be used
   */
  async read(file: LastGoodFile): Promise<unknown> {
    const document = await readDocument(this.pathOf(file));
    if (document.version !== VERSION) throw new Error('it is of another version');
    if (document.source !== file.source) {
      throw new Error(`it was written for ${document.source}, not for ${file.source}`);
    }
    return document.content;
  }

  /** Like `read`, for a start: undefined if no content may be used, and the log says why. Never throws. */
  async load(file: LastGoodFile): Promise<unknown> {
    if (!this.isOn) return undefined;
    try {
      return await this.read(file);
    } catch (error) {
      this.ignored(file, messageOf(error));
      return undefined;
    }
  }

  /** Logs why a file is not used. Also called by whoever finds a content that has not the form that is needed. */
  ignored(file: LastGoodFile, reason: string): void {
    const path = this.pathOf(file);
    this.logger.warn({ message: 'LAST_GOOD_FOLDER: a file is ignored', path, reason });
  }

  private pathOf({ name }: LastGoodFile): string {
    return join(this.configuration.LAST_GOOD_FOLDER, `${name}.json`);
  }

  private failureOf(path: string): RepeatedFailure {
    const known = this.failures.get(path);
    if (known) return known;
    const failure = new RepeatedFailure(this.logger, `writing ${path}`);
    this.failures.set(path, failure);
    return failure;
  }
}

/**
 * The text is written to a file beside it, which then takes its name. The other file has a random name: the packages
 * for this take the process id, which is 1 in every container that writes to a shared folder.
 */
async function replaceFile(path: string, text: string): Promise<void> {
  const temporaryPath = `${path}.${randomUUID()}`;
  try {
    // `flush`: after a crash of the machine a renamed file could be empty
    await writeFile(temporaryPath, text, { flag: 'wx', mode: FILE_MODE, flush: true });
    await rename(temporaryPath, path);
  } catch (error) {
    await rm(temporaryPath, { force: true });
    throw error;
  }
}

async function removeIfAbandoned(path: string): Promise<void> {
  const { mtimeMs } = await stat(path);
  const isAbandoned = Date.now() - mtimeMs > ABANDONED_AFTER_MS;
  if (isAbandoned) await rm(path, { force: true });
}

/** @throws Error with the reason why the file cannot be used */
async function readDocument(path: string): Promise<Partial<Document>> {
  const stats = await stat(path);
  if (!stats.isFile() || stats.size > MAX_BYTES) {
    throw new Error(`it is not a file of at most ${MAX_BYTES} bytes`);
  }
  const text = await readFile(path, 'utf8');
  const document = parse(text);
  if (typeof document !== 'object' || document === null) throw new Error('it is damaged');
  return document;
}

/** JSON.parse quotes what it cannot read, which may be secret. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is damaged');
  }
}
