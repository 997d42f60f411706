import Bytes
package import Crypto
package import Format

/// The kinds of sealed things, in every piece's additional data.
package enum SealedKind {
  package static let chunk: UInt8 = 1
  package static let page: UInt8 = 2
  package static let root: UInt8 = 3
  package static let frame: UInt8 = 4
  package static let anchor: UInt8 = 5
  package static let note: UInt8 = 6
}

extension Reference {
  package init(slot: UInt32, iv: IV, tag: Tag) {
    self.init(slot: slot, ivHigh: iv.high, ivLow: iv.low, tagLow: tag.low, tagHigh: tag.high)
  }

  /// A reference that was read. The last slot number is never given out: the end of a range of
  /// slots is a slot number too.
  package func checked() throws(EngineError) -> Reference {
    guard slot != .max else { throw .damaged("a reference to no slot") }
    return self
  }

  package var iv: IV { IV(high: ivHigh, low: ivLow) }
  package var tag: Tag { Tag(low: tagLow, high: tagHigh) }
}

extension PageID {
  package var additional: AdditionalData { AdditionalData(kind: SealedKind.page, rawValue, 0) }
}
