import { Injectable } from '@nestjs/common';

/** Whether the process is ending. Readiness, replies and connections depend on this one state. It is never reset. */
@Injectable()
export class Draining {
  private begun = false;

  begin(): void {
    this.begun = true;
  }

  get hasBegun(): boolean {
    return this.begun;
  }
}
