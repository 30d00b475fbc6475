import { Injectable } from '@nestjs/common';
import { ApiKeysService } from '../auth/api-keys/api-keys.service.js';
import type { Issuer } from '../auth/issuers/issuer.js';
import { IssuersService } from '../auth/issuers/issuers.service.js';
import { DatabaseStatus } from '../database/database-status.js';
import { CodesService } from '../lookups/codes.service.js';
import { version } from '../telemetry/version.js';
import { type Cell, durationOf, momentOf } from './cell.js';

/** An issuer is asked each minute, the database four times a second. An older answer is a warning. */
const OLD_ANSWER_SECONDS = 150;
const SOON_SECONDS = 14 * 86_400;
/** Of the API keys that end soon. */
const MAX_NAMED_KEYS = 5;

export interface Fact {
  readonly name: string;
  readonly value: Cell;
}

/** Something that is read from elsewhere, as a row of the page. */
export interface PartOfState {
  readonly name: string;
  readonly state: Cell;
  /** How much is served, and since when. */
  readonly content: Cell;
  readonly lastAnswer: Cell;
  readonly untilRefusal: Cell;
}

interface PartFigures {
  readonly name: string;
  readonly stateName: string;
  /** How many entries can be served. */
  readonly count: number;
  readonly servedSinceMs?: number | undefined;
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

  get parts(): readonly PartOfState[] {
    const figures = [this.figuresOfCodes(), this.figuresOfKeys()];
    for (const issuer of this.issuers.all) figures.push(figuresOfIssuer(issuer));
    return figures.map(partOf);
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
      { name: 'Next moment of the codes', value: { text: momentOf(nextMomentMs) } },
      ...this.factsOfEndingKeys(),
    ];
  }

  private factsOfEndingKeys(): readonly Fact[] {
    const { endingKeys } = this.apiKeys;
    const soon = endingKeys.filter(({ secondsLeft }) => secondsLeft < SOON_SECONDS);
    const named = soon.slice(0, MAX_NAMED_KEYS).map(({ client, keyId, secondsLeft }) => ({
      name: `${client}, ${keyId}`,
      value: { text: `ends in ${durationOf(secondsLeft)}`, isWarning: true },
    }));
    return [
      { name: 'API keys that end within 14 days', value: { text: `${soon.length}` } },
      ...named,
    ];
  }

  private figuresOfCodes(): PartFigures {
    const { polled, rows } = this.codes;
    return {
      name: 'Codes',
      stateName: polled.state.name,
      count: rows ? rows.values.length + rows.records.length : 0,
      servedSinceMs: polled.servedSinceEpochMs,
      ageSeconds: polled.ageSeconds,
      secondsUntilRefusal: polled.value ? Infinity : 0,
    };
  }

  private figuresOfKeys(): PartFigures {
    const { polled, secondsUntilRefusal } = this.apiKeys;
    return {
      name: 'API keys',
      stateName: polled.state.name,
      count: polled.value?.size ?? 0,
      servedSinceMs: polled.servedSinceEpochMs,
      ageSeconds: polled.ageSeconds,
      secondsUntilRefusal,
    };
  }
}

function figuresOfIssuer({
  name,
  state,
  keySet,
  ageSeconds,
  secondsUntilRefusal,
}: Issuer): PartFigures {
  return {
    name: `Signing keys of ${name}`,
    stateName: state.name,
    count: keySet?.keys.length ?? 0,
    ageSeconds,
    secondsUntilRefusal,
  };
}

function partOf(figures: PartFigures): PartOfState {
  const { name, stateName, count, servedSinceMs, ageSeconds, secondsUntilRefusal } = figures;
  const since = servedSinceMs === undefined ? '' : `, since ${momentOf(servedSinceMs)}`;
  const isRefused = count === 0 || secondsUntilRefusal <= 0;
  return {
    name,
    state: { text: stateName, isWarning: stateName !== 'current' },
    content: { text: count === 0 ? 'none' : `${count}${since}`, isWarning: count === 0 },
    lastAnswer: {
      text: ageSeconds === Infinity ? 'never' : `${durationOf(ageSeconds)} ago`,
      isWarning: ageSeconds > OLD_ANSWER_SECONDS,
    },
    untilRefusal: {
      text: isRefused ? 'now' : durationOf(secondsUntilRefusal),
      isWarning: isRefused,
    },
  };
}
