import CPageContent

/// The files of `Pages/Content`, which `CPageContent` embeds in the program.
enum PageFiles {
    static let accountApprovalScript = bytes(page_content_account_approval_js())
    static let accountArchiveScript = bytes(page_content_account_archive_js())
    static let accountPage = bytes(page_content_account_html())
    static let accountScript = bytes(page_content_account_js())
    static let accountDatabasesScript = bytes(page_content_account_databases_js())
    static let accountDevicesScript = bytes(page_content_account_devices_js())
    static let addressPage = bytes(page_content_address_html())
    static let invitationPage = bytes(page_content_invitation_html())
    static let keyApprovalScript = bytes(page_content_key_approval_js())
    static let landingPage = bytes(page_content_landing_html())
    static let notificationsWorker = bytes(page_content_notifications_worker_js())
    static let notificationsPage = bytes(page_content_notifications_html())
    static let notificationsScript = bytes(page_content_notifications_js())
    static let pageElementsScript = bytes(page_content_page_elements_js())
    static let passkeysScript = bytes(page_content_passkeys_js())
    static let providerPage = bytes(page_content_provider_html())
    static let providerScript = bytes(page_content_provider_js())
    static let recoveryWordsScript = bytes(page_content_recovery_words_js())
    static let shareNotFoundPage = bytes(page_content_share_not_found_html())
    static let shareViewerScript = bytes(page_content_share_viewer_js())
    static let sharePage = bytes(page_content_share_html())
    static let shareScript = bytes(page_content_share_js())
    static let signInRefusedPage = bytes(page_content_sign_in_refused_html())
    static let signInPage = bytes(page_content_sign_in_html())
    static let signInScript = bytes(page_content_sign_in_js())
    static let signUpClosedPage = bytes(page_content_sign_up_closed_html())
    static let signUpPage = bytes(page_content_sign_up_html())
    static let style = bytes(page_content_style_css())
    static let welkinEncryptionScript = bytes(page_content_welkin_encryption_js())
    static let welkinScript = bytes(page_content_welkin_js())

    private static func bytes(_ content: page_content) -> [UInt8] {
        Array(UnsafeBufferPointer(start: content.bytes, count: content.count))
    }
}
