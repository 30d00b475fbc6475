/** A file whose turn it is. */
export interface FileUnderWay {
  readonly name: string;
  /** The SQL that PostgreSQL gets to run. Empty until the file has been read. */
  readonly script: string;
}

/** How far a run is. The next file begins when the one before was committed. */
export class RunProgress {
  private readonly names: string[] = [];
  private underWay: FileUnderWay | undefined;

  get done(): readonly string[] {
    return this.names;
  }

  /** Undefined before the first file, and after the last one. */
  get current(): FileUnderWay | undefined {
    return this.underWay;
  }

  /** Has to come before anything of the file can fail: otherwise the fault would be one of the file before it. */
  begin(name: string): void {
    this.finish();
    this.underWay = { name, script: '' };
  }

  /** The file that has begun was read. */
  read(name: string, script: string): void {
    this.underWay = { name, script };
  }

  /** The file that is under way was committed. */
  finish(): void {
    if (this.underWay) this.names.push(this.underWay.name);
    this.underWay = undefined;
  }
}
