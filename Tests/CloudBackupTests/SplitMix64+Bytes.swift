import SeededChance

extension SplitMix64 {
    /// Draws bytes, eight at a time.
    mutating func bytes(_ count: Int) -> [UInt8] {
        let words = (0..<(count + 7) / 8).map { _ in next() }
        return words.withUnsafeBytes { Array($0.prefix(count)) }
    }
}
