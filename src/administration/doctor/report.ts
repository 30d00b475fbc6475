import { messageOf } from '../../telemetry/error-message.js';
import { CORRECT_FIRST, type Finding, fault } from './finding.js';

export interface Examination {
  readonly subject: string;
  /** Against a fault without a remedy of its own. */
  readonly remedy?: string;
  /** `all`: a fault keeps every call from its answer. `credential`: it refuses the calls with this one. */
  readonly concerns?: 'all' | 'credential';
  /** An error that it throws is a fault. */
  readonly examine: () => Promise<Finding>;
}

const STATE_WIDTH = 7;
const SUBJECT_WIDTH = 13;
/** Of the arrow below the text. */
const REMEDY_INDENT = STATE_WIDTH + SUBJECT_WIDTH + 4;

/** The lines of the doctor, and what they mean for callers. */
export class Report {
  private readonly lines: string[] = [];
  private readonly faulty: Examination[] = [];

  async add(examination: Examination): Promise<void> {
    const finding = await examined(examination);
    const subject = examination.subject.padEnd(SUBJECT_WIDTH);
    this.lines.push(`${finding.state.padEnd(STATE_WIDTH)}  ${subject}  ${finding.text}`);
    if (finding.state === 'ok') return;
    const remedy = finding.remedy ?? examination.remedy ?? CORRECT_FIRST;
    this.lines.push(`${' '.repeat(REMEDY_INDENT)}→ ${remedy}`);
    if (finding.state === 'fault') this.faulty.push(examination);
  }

  hasFault(subject: string): boolean {
    return this.faulty.some((examination) => examination.subject === subject);
  }

  get isSound(): boolean {
    return this.faulty.length === 0;
  }

  get text(): string {
    return [...this.lines, '', this.conclusion].join('\n');
  }

  /** The last line: whether calls are answered. */
  private get conclusion(): string {
    const causes = this.faultySubjects('all');
    const refused = this.faultySubjects('credential');
    const sentences: string[] = [];
    if (causes.length === 0) sentences.push('Calls are answered.');
    else sentences.push(`Calls are not answered. Correct ${causes.join(', ')}.`);
    if (refused.length > 0) sentences.push(`Refused: ${refused.join(', ')}.`);
    return sentences.join(' ');
  }

  private faultySubjects(concerns: Examination['concerns']): string[] {
    const subjects = this.faulty.filter((one) => one.concerns === concerns).map(({ subject }) => subject);
    return [...new Set(subjects)];
  }
}

async function examined({ examine }: Examination): Promise<Finding> {
  try {
    return await examine();
  } catch (error) {
    const inOneLine = messageOf(error).replaceAll(/\n[ -]*/g, ' ');
    return fault(inOneLine);
  }
}
