/// Pages of a store's file that changed between two of its states.
package struct StoreChanges: Hashable, Sendable {
    /// The bytes of a page.
    package let pageBytes: Int
    /// The size of the file afterwards, in pages.
    package private(set) var pageCount: Int
    /// The content of each page afterwards, by its number from 1 on.
    package private(set) var pages: [UInt32: [UInt8]]

    /// Creates a value with the given properties.
    package init(pageBytes: Int, pageCount: Int, pages: [UInt32: [UInt8]]) {
        self.pageBytes = pageBytes
        self.pageCount = pageCount
        self.pages = pages
    }

    /// The bytes of the pages.
    package var byteCount: Int { pages.count * pageBytes }

    /// Adds what changed afterwards.
    package mutating func merge(_ later: StoreChanges) {
        pages.merge(later.pages) { $1 }
        pageCount = later.pageCount
        pages = pages.filter { $0.key <= pageCount }
    }
}
