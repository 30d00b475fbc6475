import { Injectable } from '@nestjs/common';
import { ApiKeysService } from '../auth/api-keys/api-keys.service.js';
import type { Issuer } from '../auth/issuers/issuer.js';
import { IssuersService } from '../auth/issuers/issuers.service.js';
import { DatabaseStatus } from '../database/database-status.js';
import { CodesService } from '../lookups/codes.service.js';
import { version } from '../telemetry/version.js';
import { type Cell, formatDuration, formatMoment } from './cell.js';

/** An issuer is asked each minute, the database four times a second. An older answer is a warning. */
const OLD_ANSWER_SECONDS = 150;
const SOON_SECONDS = 14 * 86_400;
/** So many of the API keys that end soon are named. */
const MAX_NAMED_KEYS = 5;

export interface Fact {
  readonly name: string;
  readonly value: Cell;
}

/** A row of the page about the codes, the API keys or an issuer, which all come from elsewhere. */
export interface SourceRow {
  readonly name: string;
  readonly state: Cell;
  /** How much is served, and since when. */
  readonly content: Cell;
  readonly lastAnswer: Cell;
  readonly untilRefusal: Cell;
}

interface SourceFigures {
  readonly name: string;
  readonly stateName: string;
  readonly count: number;
  /** The entries that `count` counts. */
  readonly entries: string;
  /** In milliseconds since the epoch. */
  readonly servedSinceEpochMs?: number | undefined;
  readonly ageSeconds: number;
  readonly secondsUntilRefusal: number;
}

/** The state of the process as people read it. It is made of what the process knows: nothing is asked or waited for. */
@Injectable()
export class StateService {
  constructor(
    private readonly codes: CodesService,
    private readonly apiKeys: ApiKeysService,
    private readonly issuers: IssuersService,
    private readonly databaseStatus: DatabaseStatus,
  ) {}

  get sources(): readonly SourceRow[] {
    const figures = [this.figuresOfCodes(), this.figuresOfApiKeys()];
    for (const issuer of this.issuers.all) figures.push(figuresOfIssuer(issuer));
    return figures.map(rowOf);
  }

  facts(): readonly Fact[] {
    const isDatabaseUp = this.databaseStatus.isUp;
    const { nextMomentMs } = this.codes;
    return [
      { name: 'Version', value: { text: version } },
      {
        name: 'Database',
        value: { text: isDatabaseUp ? 'answers' : 'does not answer', isWarning: !isDatabaseUp },
      },
      { name: 'Next moment of the codes', value: { text: formatMoment(nextMomentMs) } },
      ...this.factsOfEndingKeys(),
    ];
  }

  private factsOfEndingKeys(): readonly Fact[] {
    const { endingKeys } = this.apiKeys;
    const soon = endingKeys.filter(({ secondsLeft }) => secondsLeft < SOON_SECONDS);
    const named = soon.slice(0, MAX_NAMED_KEYS).map(({ client, keyId, secondsLeft }) => ({
      name: `${client}, ${keyId}`,
      value: { text: `ends in ${formatDuration(secondsLeft)}`, isWarning: true },
    }));
    return [{ name: 'API keys that end within 14 days', value: { text: `${soon.length}` } }, ...named];
  }

  private figuresOfCodes(): SourceFigures {
    const { polled, rows } = this.codes;
    return {
      name: 'Codes',
      stateName: polled.state.name,
      count: rows ? rows.values.length + rows.records.length : 0,
      entries: 'rows of all moments',
      servedSinceEpochMs: polled.servedSinceEpochMs,
      ageSeconds: polled.ageSeconds,
      secondsUntilRefusal: polled.value ? Infinity : 0,
    };
  }

  private figuresOfApiKeys(): SourceFigures {
    const { polled, secondsUntilRefusal } = this.apiKeys;
    return {
      name: 'API keys',
      stateName: polled.state.name,
      count: polled.value?.size ?? 0,
      entries: 'keys, with those that have ended',
      servedSinceEpochMs: polled.servedSinceEpochMs,
      ageSeconds: polled.ageSeconds,
      secondsUntilRefusal,
    };
  }
}

function figuresOfIssuer({ name, signingKeys }: Issuer): SourceFigures {
  return {
    name: `Signing keys of ${name}`,
    stateName: signingKeys.state.name,
    count: signingKeys.verifyingKeyCount,
    entries: 'keys',
    ageSeconds: signingKeys.ageSeconds,
    secondsUntilRefusal: signingKeys.secondsUntilRefusal,
  };
}

function rowOf(figures: SourceFigures): SourceRow {
  const { name, stateName, ageSeconds, secondsUntilRefusal } = figures;
  const isEmpty = figures.count === 0;
  const isRefused = isEmpty || secondsUntilRefusal === 0;
  return {
    name,
    state: { text: stateName, isWarning: stateName !== 'current' },
    content: { text: isEmpty ? 'none' : describeContent(figures), isWarning: isEmpty },
    lastAnswer: {
      text: ageSeconds === Infinity ? 'never' : `${formatDuration(ageSeconds)} ago`,
      isWarning: ageSeconds > OLD_ANSWER_SECONDS,
    },
    untilRefusal: {
      text: isRefused ? 'now' : formatDuration(secondsUntilRefusal),
      isWarning: isRefused,
    },
  };
}

function describeContent({ count, entries, servedSinceEpochMs }: SourceFigures): string {
  const content = `${count} ${entries}`;
  return servedSinceEpochMs === undefined ? content : `${content}; since ${formatMoment(servedSinceEpochMs)}`;
}
