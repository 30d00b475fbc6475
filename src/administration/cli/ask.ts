import { createInterface } from 'node:readline/promises';
import type { ReadStream, WriteStream } from 'node:tty';

const AGREEMENTS = ['y', 'yes'];

/** Where a person sits: the input and the output of a process, or others that behave like these. */
export interface Terminal {
  readonly input: Pick<ReadStream, 'isTTY'> & NodeJS.ReadableStream;
  readonly output: Pick<WriteStream, 'isTTY'> & NodeJS.WritableStream;
}

/** Whether somebody answers with yes. Who cannot see the question, cannot answer or closes the input has not agreed. */
export async function isAgreed(question: string, { input, output }: Terminal): Promise<boolean> {
  if (!input.isTTY || !output.isTTY) return false;
  const dialogue = createInterface({ input, output });
  const closing = new AbortController();
  dialogue.once('close', () => closing.abort()); // otherwise the answer would be awaited for ever
  try {
    const answer = await dialogue.question(question, { signal: closing.signal });
    return AGREEMENTS.includes(answer.trim().toLowerCase());
  } catch (error) {
    if (closing.signal.aborted) return false;
    throw error;
  } finally {
    dialogue.close();
  }
}
