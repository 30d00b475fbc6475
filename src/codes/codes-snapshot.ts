import type { Answer } from '../http/answer.js';
import type { CommunicationCodes } from './communication-codes/communication-codes.js';
import type { RecordChange } from './communication-codes/record-page.js';
import { assertSize } from './rows.js';
import type { Area, SupportedValues } from './supported-values/supported-values.js';

/** The changes since a former reading. */
export interface CodesChanges {
  readonly records: readonly RecordChange[];
  readonly values: SupportedValues;
}

/** Everything that the three operations return from a moment on, as bytes, with what is known of later moments. It is never changed. */
export class CodesSnapshot {
  /** When it ends: the next moment at which a code begins or ends, or Infinity. In milliseconds since the epoch. */
  readonly until: number;

  constructor(
    /** A moment at which it is in force, in milliseconds since the epoch. */
    readonly since: number,
    readonly communicationCodes: CommunicationCodes,
    readonly values: SupportedValues,
    readonly supportedValues: Readonly<Record<Area, Answer>> = values.at(since),
  ) {
    assertSize(communicationCodes.bytes);
    this.until = Math.min(communicationCodes.nextMoment, values.nextMoment(since));
  }

  /** The snapshot at a later moment. */
  *at(moment: number): Generator<void, CodesSnapshot> {
    const same = this.values.nextMoment(this.since) > moment;
    return new CodesSnapshot(
      moment,
      yield* this.communicationCodes.at(moment),
      this.values,
      same ? this.supportedValues : this.values.at(moment),
    );
  }

  /** The snapshot after changes, at the same moment. */
  *with({ records, values }: CodesChanges): Generator<void, CodesSnapshot> {
    const communicationCodes = yield* this.communicationCodes.with(records, this.since);
    return new CodesSnapshot(this.since, communicationCodes, values);
  }
}
