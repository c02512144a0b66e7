/// The order in which the records of a zone are saved: each after those that it needs.
struct ImportOrder {
    /// Returns the positions of records, those that others need first. Circles, which references may form, are cut at any place.
    ///
    /// - Parameters:
    ///   - names: The names of the records.
    ///   - needed: For each record the names of those that it needs; unknown names do not count.
    static func positions(of names: [String], needed: [[String]]) -> [Int] {
        var places: [String: Int] = [:]
        for (index, name) in names.enumerated() { places[name] = index }
        var order: [Int] = []
        order.reserveCapacity(names.count)
        var isEntered = Array(repeating: false, count: names.count)
        for start in names.indices where !isEntered[start] {
            // Depth first without recursion: trees may be deeper than the stack.
            var path = [(index: start, next: 0)]
            isEntered[start] = true
            while let (index, next) = path.last {
                guard next < needed[index].count else {
                    order.append(index)
                    path.removeLast()
                    continue
                }
                path[path.count - 1].next += 1
                if let place = places[needed[index][next]], !isEntered[place] {
                    isEntered[place] = true
                    path.append((place, 0))
                }
            }
        }
        return order
    }
}
