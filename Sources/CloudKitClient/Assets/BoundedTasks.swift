/// Does something for each element, a few at a time; the results come in the order of the elements.
///
/// - Throws: The first failure; the others are then cancelled.
func concurrentMap<Element: Sendable, Value: Sendable>(
    _ elements: [Element], atMost width: Int, _ body: @escaping @Sendable (Element) async throws -> Value
) async throws -> [Value] {
    try await withThrowingTaskGroup(of: (Int, Value).self) { group in
        var values = [Value?](repeating: nil, count: elements.count)
        for (index, element) in elements.enumerated() {
            if index >= width, let (done, value) = try await group.next() { values[done] = value }
            group.addTask { (index, try await body(element)) }
        }
        while let (done, value) = try await group.next() { values[done] = value }
        return values.compactMap(\.self)
    }
}
