extension String {
    /// The text without control characters, so that it cannot move the cursor or begin a line.
    var onOneLine: String {
        String(unicodeScalars.map { $0.properties.generalCategory == .control ? " " : Character($0) })
    }
}
